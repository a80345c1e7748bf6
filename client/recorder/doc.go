// Package recorder records what an agent does in its own Temporal workflow: what was said, observed and planned, and
// each tool that it called (Open, Recorder, Interceptor). Events go to Mneme's ledger in the background. Recording
// never fails the workflow, and a history that was written without it replays with it. It does not read the ledger.
package recorder
