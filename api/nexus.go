package api

import (
	"github.com/nexus-rpc/sdk-go/nexus"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Typed references to the operations, for workflows that call them. Other callers use the names.
var (
	Remembering    = nexus.NewOperationReference[schema.IngestRequest, IngestResult](OperationRemember)
	Recalling      = nexus.NewOperationReference[schema.RecallRequest, schema.RecallResponse](OperationRecall)
	Getting        = nexus.NewOperationReference[schema.GetRequest, schema.GetResponse](OperationGet)
	ReadingContext = nexus.NewOperationReference[ledger.ContextRequest, ledger.ContextResponse](OperationContext)
	Forgetting     = nexus.NewOperationReference[schema.ForgetRequest, schema.ForgetReceipt](OperationForget)
	GivingFeedback = nexus.NewOperationReference[schema.FeedbackRequest, schema.FeedbackResult](OperationFeedback)
	Advising       = nexus.NewOperationReference[AdviseRequest, AdviseResponse](OperationAdvise)
	Reporting      = nexus.NewOperationReference[ReportRequest, ReportResult](OperationReport)
	Appending      = nexus.NewOperationReference[AppendRequest, AppendResult](OperationAppend)
	ErasingEvents  = nexus.NewOperationReference[EraseEventsRequest, EraseEventsResult](OperationEraseEvents)
)
