"""A test suite of 500,000 tests, of which one fails."""
import sys

for i in range(500_000):
    if i == 123_456:
        print("FAIL test number 123456: want 5, got 4")
    print("ok   test number %d with a name that is long enough to be one of a test suite" % i)
sys.exit("1 of 500001 failed")
