package authn

// OptionError says which option of [Options] or [TLSOptions] cannot be used,
// and why. The caller that filled in the options knows which setting that is.
type OptionError struct {
	Option string // for example "Issuer.URL"
	Err    error
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

func optionError(option string, err error) error { return &OptionError{Option: option, Err: err} }
