package mcpserver

import (
	"encoding/json"
	"errors"

	"tipstaff/internal/strictjson"
)

// repeatDepth is how deep objects within a message are looked at: as deep as what a
// person answers to a question lies in it, in params.inputResponses. Arguments of tools
// are looked at by the tools.
const repeatDepth = 4

// mostMembers bounds the members of an object of the protocol, and of all objects within
// a message: no message of it has a tenth of them, and each one costs more to look at than
// to parse.
const mostMembers = 1000

// errMembers is what is wrong with a message that has too many members.
var errMembers = errors.New("the objects of this message have more than 1000 members outside of arguments")

// wholeObjects says what is wrong with the objects within a message, which may have left
// members in all.
func wholeObjects(members []strictjson.Member, depth int, left *int) error {
	if *left -= len(members); *left < 0 {
		return errMembers
	}
	for _, m := range members {
		if depth == 0 || m.Name == "arguments" || len(m.Value) == 0 || m.Value[0] != '{' {
			continue
		}
		inner, err := membersOf(m.Value)
		if err == nil {
			err = wholeObjects(inner, depth-1, left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// membersOf splits an object of a message.
func membersOf(data json.RawMessage) ([]strictjson.Member, error) {
	members, err := strictjson.Members(data, mostMembers)
	if errors.Is(err, strictjson.ErrTooMany) {
		err = errMembers
	}
	return members, err
}
