"""Says how many lines notes.txt has, whenever it changes."""
import time


def lines():
    with open("notes.txt") as f:
        return f.read().count("\n")


last = lines()
print("watching notes.txt:", last)
while True:
    time.sleep(0.05)
    if lines() != last:
        last = lines()
        print("changed:", last)
