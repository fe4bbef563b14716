prices = [3, 4, "5"]
total = 0
for price in prices:
    total += int(price)
print(total)
