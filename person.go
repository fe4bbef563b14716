package tipstaff

// Person is a user of this machine who looks after the commands, as the kernel names
// the other end of a socket.
type Person struct {
	Name string
	UID  int
}

// AfterPerson tells a model what to do when a person has ended its command.
const AfterPerson = "Do not run it again, or in another way, unless a person asks you to. Say what you were doing, and ask how to go on."
