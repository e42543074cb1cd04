"""Who buys here."""

from dataclasses import dataclass


@dataclass
class Customer:
    email: str
    orders: int = 0


class Register:
    """The customers by their address."""

    def __init__(self, *customers):
        self._by_email = {customer.email: customer for customer in customers}

    def find(self, email):
        return self._by_email.get(email)
