"""What a customer saves."""

REGULAR = 10   # orders
RATES   = {"regular": 15,
           "newcomer":  0}   # percent


def discount(register, email):
    customer = register.find(email)
    if customer.orders > REGULAR:      # we know you by now
        return RATES["regular"]
    return RATES["newcomer"]
