package workflows

import "github.com/mneme/mneme/schema"

import "github.com/nexus-rpc/sdk-go/nexus"

// References to the operations, for workflows that call them with types. Others name them.
var (
	Remembering = nexus.NewOperationReference[schema.IngestRequest, IngestResult](OperationRemember)
	Recalled    = nexus.NewOperationReference[schema.RecallRequest, schema.RecallResponse](OperationRecall)
	Got         = nexus.NewOperationReference[schema.GetRequest, schema.GetResponse](OperationGet)
	Forgetting  = nexus.NewOperationReference[schema.ForgetRequest, schema.ForgetReceipt](OperationForget)
	FedBack     = nexus.NewOperationReference[schema.FeedbackRequest, schema.FeedbackResult](OperationFeedback)
)
