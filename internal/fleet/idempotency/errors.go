package idempotency

import (
	"fmt"

	"tipstaff"
)

// Rule is the rule of the errors about ids of calls.
const Rule = "command_id"

func otherCall(id string) error {
	return &tipstaff.Error{
		Code: tipstaff.InvalidParameters, Rule: Rule,
		Msg:     fmt.Sprintf("The command_id %.200q belongs to a call with other arguments. Nothing ran.", id),
		Hint:    "To get the answer of that call, make it again as it was. For another command take another command_id.",
		Details: map[string]any{"command_id": id},
	}
}

func unknown(id string) error {
	return &tipstaff.Error{
		Code: tipstaff.CommandNotFound, Rule: Rule,
		Msg:     fmt.Sprintf("No call with the command_id %.200q is known. Nothing ran now; whether it has run before is not known any more.", id),
		Hint:    "Look at what the command should have changed before you run it under a new command_id, or under none.",
		Details: map[string]any{"command_id": id},
	}
}

func forgotten(id string) error {
	return &tipstaff.Error{
		Code: tipstaff.OutcomeUnknown, Rule: Rule,
		Msg:     fmt.Sprintf("The call with the command_id %.200q has ended, and its answer is not kept any more. It was not carried out again.", id),
		Hint:    "Look at what the command should have changed.",
		Details: map[string]any{"command_id": id},
	}
}

func tooMany(limit int) error {
	return &tipstaff.Error{
		Code: tipstaff.TooManyCommands, Rule: Rule,
		Msg:     fmt.Sprintf("%d of your command_ids are remembered, and no more than that can be. Nothing ran.", limit),
		Hint:    "Make the call without command_id, or wait: ids are forgotten an hour after their commands' ends.",
		Details: map[string]any{"limit": limit},
	}
}

func ending(why error) error {
	return &tipstaff.Error{Code: tipstaff.ExecutionError, Rule: "cancelled", Err: why, Msg: "The server is ending; nothing ran."}
}
