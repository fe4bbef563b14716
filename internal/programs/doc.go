// Package programs is what is known of programs: how each writes its options,
// what they mean, what its arguments make it start, which of them no shell ever
// gets to see, and which are secret. It judges nothing: internal/policy asks it
// what a command would start and where free text stands, internal/rules how
// options are written and what a script does, internal/redact where secrets
// stand, internal/sandbox which programs wait for other hosts.
//
// # The table
//
// The knowledge is data, a file in table/ for a program or for a few that are
// alike. A [Program] begins at the left margin with all its names; its rows are
// indented, or a single one stands behind two blanks; "sub" begins a subcommand, whose rows are indented further ("sub *":
// any that has no rows of its own). A program that is not there is one of which
// nothing is known: nothing in its arguments is text, starts anything or is
// secret but by its form. An option whose value is harmless is named only where
// it has to be known in order to read the rest.
//
//	is: …           interpreter: it runs what it is given or finds, so that a list of
//	                programs is no boundary for it (nor for a wrapper); shells: it hands
//	                its arguments to shells; fetches: it waits for other hosts;
//	                containers: long options name containers, images and the like;
//	                subcommands: the first word says what to do; abbreviates: and may be
//	                abbreviated; single: long options have one dash; old: the first
//	                operand may be options; early: there are no options behind an operand;
//	                inherits: options count behind a subcommand too; prefixes: what is put
//	                in for {} begins with a directory
//	alias NAME: …   other names of a subcommand
//
// Options, each by its row; a long one may be abbreviated wherever that is
// dangerous:
//
//	flag, value     without and with a value; maybe: with one only if it is glued to
//	                the option
//	text            a value that is free text, a pattern or the like, which no shell gets
//	                to see; text2: the second of two values is; last: so is all behind it
//	perhaps         it may have a text, or be a flag: what could be an option is read as
//	                one. Of the program "*": those that mean this wherever they are known
//	module          the rest is the command line of a part of the program, as behind -m of
//	                python: nothing else is started, and its text is text
//	program         the value is a command line; maybe-program: if any
//	splits          the value is the beginning of the command line, the operands
//	                are the rest of it
//	until           what follows up to ; or + is a command line; until-moved: in
//	                another directory
//	hole            the value stands for input; maybe-hole: {} if there is none
//	variable        the value is NAME=value of an environment
//	moves           the value is another directory
//	plain           undoes joined
//	ends            with this option there is no command
//	needs P         does what the program P does
//	refuse          does something that cannot be judged; maybe-refuse: if a value is
//	                glued to it
//	setting         the value is KEY=value; which keys are harmless or name a
//	                program is said by safe and names (strict if safe is there);
//	                setting-env: the value is in a variable
//	code LANG       the value is a program in a small language (code.go)
//
// What is no option:
//
//	wraps: …        the operands are another command line. after N: behind N of
//	                its own; permute: options may stand between those; dashdash:
//	                only behind --; assigns: behind NAME=value; joined: put
//	                together for a shell; appends: more arguments come from its
//	                input; shell: with no command, it starts a shell; digits: -10
//	                is an option; project: programs of the project are not looked
//	                at, those of the system are; workspace: nor are files that
//	                are given by a relative path; exact: text in it is text. A
//	                wrapper's unknown options are refused, except with project and
//	                workspace.
//	operand: …      text [first] [unless OPTION …]: text, each or the first;
//	                grammar WORD …: words of the program's own; setting (KEY value or
//	                KEY=value); assignment (KEY=value); program (the first one, as with
//	                workspace); line (each is a command line); code LANG [unless
//	                OPTION …]: the first one, or every one for a LANG that ends with *;
//	                and what is refused in any: begins TEXT …; contains TEXT …;
//	                optional WORD …: what may stand before the command of a wrapper
//	itself: …       programs that the program starts by itself, or that do no more
//	                than it can do; their own options are judged
//	never: …        why the program cannot be judged at all
//
// Secrets, under the name by which the record shows them (pass, token …). A
// shape says which part of a value is one: user (user:password), colon, percent,
// comma, equals (what stands behind it), cookies, source (of openssl), logon
// (user/password@database). "behind WORD": only if this word was there.
//
//	secret NAME [SHAPE] [behind WORD]   an option's value, glued to it or behind it
//	glued NAME                          only if it is glued
//	no-secret                           what means a secret elsewhere does not here
//	follows NAME, rest NAME             the word behind one of these, or all of them
//	nth NAME [SHAPE] N                  the Nth operand (0: each), if these words and
//	                                    letters of options were there
//
// # The reader
//
// [Read] takes the arguments of one program apart by the table and tells what
// the program would do, in the order of the arguments, and which of them are
// text. Its callers go through the layers of a wrapped command. Two others read
// arguments on their own, with the table but without trust in it, because they
// must not miss anything: the patterns of internal/rules see an option wherever
// one could stand, and internal/redact begins anew at every word that names a
// program with secrets, also behind wrappers that are not in the table.
//
// To add a program, add rows to a file in table/ or a new file; the tests here
// read all of them, and CONTRIBUTING.md says where to prove it.
package programs
