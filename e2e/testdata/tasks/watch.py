"""Says how many lines notes.txt has, whenever it changes."""
import time


def lines():
    with open("notes.txt") as f:
        return f.read().count("\n")


last = lines()
print(f"watching notes.txt: {last}\n", end="")
while True:
    time.sleep(0.05)
    if lines() != last:
        last = lines()
        print(f"changed: {last}\n", end="")
