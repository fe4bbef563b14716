package scan

// zshWords are the words that zsh does not look up as a program where Bash does:
// its further builtins, reserved words and modifiers, and chdir of dash. A test asks
// zsh for them. which is left out: it prints names in every shell.
var zshWords = setOf(`- autoload bindkey bye chdir compadd comparguments compcall compctl compdescribe
	compfiles compgroups compquote compset comptags comptry compvalues disable echotc echoti emulate end float
	foreach functions getln integer limit log nocorrect noglob print private pushln r rehash repeat sched setopt
	ttyctl unfunction unhash unlimit unsetopt vared whence where zcompile zformat zle zmodload zparseopts
	zregexparse zstyle`)
