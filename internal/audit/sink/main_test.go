package sink_test

import (
	"os"
	"testing"

	"tipstaff/internal/audit/sink/sinktest"
)

func TestMain(m *testing.M) { os.Exit(sinktest.Main(m)) }
