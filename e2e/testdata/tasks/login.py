import getpass

secret = getpass.getpass("Password for deploy@example.com: ")
print("welcome" if secret == "tiger" else "wrong")
