"""Removes guards that real projects have, one at a time, and measures whether selfdebug finds them again.

python -m benchmarks guard-removal --help
"""
