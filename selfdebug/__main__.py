"""`python -m selfdebug` is the same as `selfdebug`."""

from selfdebug.cli import main

if __name__ == "__main__":
    main()
