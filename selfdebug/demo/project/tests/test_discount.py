from shop.customers import Customer, Register
from shop.discount import discount

REGISTER = Register(Customer("ada@example.org", orders=12), Customer("bob@example.org", orders=1))


def test_a_regular_customer_saves_15_percent():
    assert discount(REGISTER, "ada@example.org") == 15


def test_a_newcomer_saves_nothing():
    assert discount(REGISTER, "bob@example.org") == 0


def test_a_guest_saves_nothing():
    assert discount(REGISTER, "nobody@example.org") == 0
