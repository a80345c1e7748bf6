package qdranttest

import (
	"context"
	"maps"
	"slices"

	qd "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// collection holds the data of one collection.
type collection struct {
	name    string
	vectors map[string]*qd.VectorParams // "" is the unnamed vector is the unnamed one
	hnsw    *qd.HnswConfigDiff
	indexes map[string]*qd.PayloadSchemaInfo
	points  map[string]*point
	waiting []func() // acknowledged, not yet applied
}

// collections implements the calls on collections as a whole.
type collections struct {
	qd.UnimplementedCollectionsServer
	*Server
}

// Create implements qdrant.CollectionsServer.
func (s collections) Create(_ context.Context, req *qd.CreateCollection) (*qd.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := req.GetCollectionName()
	if err := checkName(name, "<>:\"/\\|?*\x00\x1f"); err != nil {
		return nil, err
	}
	if s.collections[name] != nil {
		return nil, status.Errorf(codes.AlreadyExists, "Wrong input: Collection `%s` already exists!", name)
	}
	if _, taken := s.aliases[name]; taken {
		return nil, invalid("Can't create collection with name %s. Alias with the same name already exists", name)
	}
	c := &collection{name: name, vectors: map[string]*qd.VectorParams{}, hnsw: req.GetHnswConfig(),
		indexes: map[string]*qd.PayloadSchemaInfo{}, points: map[string]*point{}}
	switch config := req.GetVectorsConfig().GetConfig().(type) {
	case *qd.VectorsConfig_Params:
		c.vectors[""] = config.Params
	case *qd.VectorsConfig_ParamsMap:
		maps.Copy(c.vectors, config.ParamsMap.GetMap())
	}
	for vector, params := range c.vectors {
		if params.GetSize() < 1 || params.GetSize() > 65536 {
			return nil, status.Errorf(codes.InvalidArgument,
				"Validation error in body: [vectors.%s.size: must be from 1 to 65536]", vector)
		}
		switch params.GetDistance() {
		case qd.Distance_Cosine, qd.Distance_Dot:
		default:
			return nil, unimplemented("a distance other than Cosine and Dot")
		}
	}
	s.collections[name] = c
	return &qd.CollectionOperationResponse{Result: true}, nil
}

// Delete implements qdrant.CollectionsServer. Aliases are deleted with their collection.
func (s collections) Delete(_ context.Context, req *qd.DeleteCollection) (*qd.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := req.GetCollectionName()
	if err := checkName(name, "/\x00"); err != nil {
		return nil, err
	}
	if s.collections[name] == nil {
		return &qd.CollectionOperationResponse{Result: false}, nil
	}
	delete(s.collections, name)
	maps.DeleteFunc(s.aliases, func(_, target string) bool { return target == name })
	return &qd.CollectionOperationResponse{Result: true}, nil
}

// List implements qdrant.CollectionsServer.
func (s collections) List(context.Context, *qd.ListCollectionsRequest) (*qd.ListCollectionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &qd.ListCollectionsResponse{}
	for _, name := range slices.Sorted(maps.Keys(s.collections)) {
		out.Collections = append(out.Collections, &qd.CollectionDescription{Name: name})
	}
	return out, nil
}

// CollectionExists implements qdrant.CollectionsServer.
func (s collections) CollectionExists(_ context.Context, req *qd.CollectionExistsRequest) (*qd.CollectionExistsResponse,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.find(req.GetCollectionName())
	if status.Code(err) == codes.InvalidArgument {
		return nil, err
	}
	return &qd.CollectionExistsResponse{Result: &qd.CollectionExists{Exists: err == nil}}, nil
}

// Get implements qdrant.CollectionsServer.
func (s collections) Get(_ context.Context, req *qd.GetCollectionInfoRequest) (*qd.GetCollectionInfoResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	config := &qd.VectorsConfig{}
	if unnamed := c.vectors[""]; unnamed != nil {
		config.Config = &qd.VectorsConfig_Params{Params: unnamed}
	} else {
		config.Config = &qd.VectorsConfig_ParamsMap{ParamsMap: &qd.VectorParamsMap{Map: maps.Clone(c.vectors)}}
	}
	return &qd.GetCollectionInfoResponse{Result: &qd.CollectionInfo{
		Status: qd.CollectionStatus_Green, OptimizerStatus: &qd.OptimizerStatus{Ok: true}, SegmentsCount: 1,
		PointsCount: new(uint64(len(c.points))), IndexedVectorsCount: new(uint64(0)),
		PayloadSchema: maps.Clone(c.indexes),
		Config: &qd.CollectionConfig{Params: &qd.CollectionParams{ShardNumber: 1, VectorsConfig: config},
			HnswConfig: c.hnsw},
	}}, nil
}

// UpdateAliases implements qdrant.CollectionsServer. It applies the actions in order, and no reader sees a state in
// between. If one fails, the earlier ones stay. Creating an existing alias moves it to another collection.
func (s collections) UpdateAliases(_ context.Context, req *qd.ChangeAliases) (*qd.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(req.GetActions(), func(a *qd.AliasOperations) bool { return a.GetAction() == nil }) {
		return nil, status.Error(codes.InvalidArgument, "Malformed AliasOperation type")
	}
	for _, action := range req.GetActions() {
		switch a := action.GetAction().(type) {
		case *qd.AliasOperations_CreateAlias:
			name, target := a.CreateAlias.GetAliasName(), a.CreateAlias.GetCollectionName()
			if s.collections[target] == nil {
				return nil, status.Errorf(codes.NotFound, "Not found: Collection `%s` doesn't exist!", target)
			}
			if s.collections[name] != nil {
				return nil, status.Errorf(codes.AlreadyExists, "Wrong input: Collection `%s` already exists!", name)
			}
			s.aliases[name] = target
		case *qd.AliasOperations_DeleteAlias:
			delete(s.aliases, a.DeleteAlias.GetAliasName())
		case *qd.AliasOperations_RenameAlias:
			from, to := a.RenameAlias.GetOldAliasName(), a.RenameAlias.GetNewAliasName()
			target, ok := s.aliases[from]
			if !ok {
				return nil, status.Errorf(codes.NotFound, "Not found: Alias %s does not exists!", from)
			}
			delete(s.aliases, from)
			s.aliases[to] = target
		}
	}
	return &qd.CollectionOperationResponse{Result: true}, nil
}

// ListAliases implements qdrant.CollectionsServer.
func (s collections) ListAliases(context.Context, *qd.ListAliasesRequest) (*qd.ListAliasesResponse, error) {
	return s.listAliases("")
}

// ListCollectionAliases implements qdrant.CollectionsServer.
func (s collections) ListCollectionAliases(_ context.Context,
	req *qd.ListCollectionAliasesRequest) (*qd.ListAliasesResponse, error) {
	return s.listAliases(req.GetCollectionName())
}

func (s collections) listAliases(of string) (*qd.ListAliasesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &qd.ListAliasesResponse{}
	for _, alias := range slices.Sorted(maps.Keys(s.aliases)) {
		if of == "" || s.aliases[alias] == of {
			out.Aliases = append(out.Aliases, &qd.AliasDescription{AliasName: alias, CollectionName: s.aliases[alias]})
		}
	}
	return out, nil
}
