package identity

// OptionError says which option of [Options] or [TLSOptions] cannot be used, and
// why: whoever has filled them in knows where the value came from.
type OptionError struct {
	Option string // as "Issuer.URL"
	Err    error
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

func optionError(option string, err error) error { return &OptionError{Option: option, Err: err} }
