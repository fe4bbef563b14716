package mcpfront

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"tipstaff"
)

// commands adds the commands of a script that failed or were refused, if the script
// has failed or one was refused: in a script that ended well, a command that failed
// was part of it.
func (m *mapping) commands(r *tipstaff.Result) {
	refused := slices.ContainsFunc(r.Commands, func(c tipstaff.ScriptCommand) bool { return c.Rule != "" })
	if len(r.Commands) == 0 || r.ExitCode == 0 && !refused {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range r.Commands {
		list.Content = append(list.Content, commandNode(&r.Commands[i]))
	}
	m.nodes = append(m.nodes, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "commands"}, list)
	if r.Further > 0 {
		m.integer("further_commands", r.Further)
	}
}

func commandNode(c *tipstaff.ScriptCommand) *yaml.Node {
	one := mapping{}
	if c.Line > 0 {
		one.integer("line", c.Line)
	}
	words := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, w := range c.Words {
		words.Content = append(words.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: validText([]byte(w)), Style: yaml.DoubleQuotedStyle})
	}
	one.nodes = append(one.nodes, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "words"}, words)
	one.integer("exit_code", c.ExitCode)
	if c.Rule != "" {
		one.text("refused", fmt.Sprintf("%s (%s)", c.Msg, c.Rule))
	} else if c.Msg != "" {
		one.text("error", c.Msg)
	}
	return &yaml.Node{Kind: yaml.MappingNode, Content: one.nodes}
}
