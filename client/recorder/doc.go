// Package recorder records what an agent does in its own Temporal workflow: what was said, observed and planned, and
// each tool that it called (Open, Recorder, Interceptor). Events go to Mneme's ledger in the background. Recording
// never fails the workflow. A history from before the recorder was added replays with it. The package does not read
// the ledger.
package recorder
