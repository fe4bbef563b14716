package retention

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bounds say how much is kept; 0 is no bound. The zero Bounds keep everything.
type Bounds struct {
	Age   time.Duration
	Bytes int64
}

// None reports whether everything is kept.
func (b Bounds) None() bool { return b == Bounds{} }

// String returns the bounds as they are written.
func (b Bounds) String() string {
	var words []string
	if b.Age > 0 {
		words = append(words, FormatAge(b.Age))
	}
	if b.Bytes > 0 {
		words = append(words, FormatBytes(b.Bytes))
	}
	return strings.Join(words, ",")
}

// The least bounds of a setting: less is a typing error.
const (
	leastAge   = time.Hour
	leastBytes = 16 << 20
)

// Parse reads bounds as an operator writes them: an age, a size, or both, as
// "90d,50GiB".
func Parse(text string) (b Bounds, err error) {
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		age, notAge := ParseAge(word)
		bytes, notBytes := ParseBytes(word)
		switch {
		case notAge == nil && b.Age == 0 && age >= leastAge:
			b.Age = age
		case notBytes == nil && b.Bytes == 0 && bytes >= leastBytes:
			b.Bytes = bytes
		case notAge == nil && b.Age > 0, notBytes == nil && b.Bytes > 0:
			return Bounds{}, errors.New("must be one age and one size at most")
		case notAge == nil:
			return Bounds{}, fmt.Errorf("%s is too little: an hour is the least age", word)
		case notBytes == nil:
			return Bounds{}, fmt.Errorf("%s is too little: 16MiB are the least size", word)
		default:
			return Bounds{}, errors.New("must be an age (h, d or w), a size (MiB, GiB or TiB), or both with a comma between them, as 90d,50GiB")
		}
	}
	return b, nil
}

// unit is a word behind a number.
type unit struct {
	name string
	n    int64
}

func ages() []unit {
	const h = int64(time.Hour)
	return []unit{{"w", 7 * 24 * h}, {"d", 24 * h}, {"h", h}, {"m", int64(time.Minute)}, {"s", int64(time.Second)}}
}

func sizes() []unit {
	return []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

// ParseAge reads an age as 30d, 2w, 12h.
func ParseAge(text string) (time.Duration, error) {
	n, err := parse(text, ages())
	return time.Duration(n), err
}

// ParseBytes reads a size as 50GiB.
func ParseBytes(text string) (int64, error) { return parse(text, sizes()) }

func parse(text string, units []unit) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/u.n || digits[0] == '+' {
			break
		}
		return n * u.n, nil
	}
	var names []string
	for _, u := range units {
		names = append(names, u.name)
	}
	return 0, fmt.Errorf("%q must be a positive whole number and one of %s", text, strings.Join(names, ", "))
}

// FormatAge is the opposite of ParseAge.
func FormatAge(d time.Duration) string { return format(int64(d), ages()[1:], "ns") }

// FormatBytes is the opposite of ParseBytes.
func FormatBytes(n int64) string { return format(n, sizes(), " B") }

func format(n int64, units []unit, rest string) string {
	for _, u := range units {
		if n > 0 && n%u.n == 0 {
			return strconv.FormatInt(n/u.n, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + rest
}
