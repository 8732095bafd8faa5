package main

import (
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// askFranzGo goes through the balancer's public interface: members send JoinGroup metadata of the
// "consumer" protocol, the leader balances, and each member reads its part of the SyncGroup request.
// Racks play no part: balancing by rack is off unless a client asks for it.
func askFranzGo(asked document) (lists, error) {
	balancers := map[string]func() kgo.GroupBalancer{
		"range":              kgo.RangeBalancer,
		"roundrobin":         kgo.RoundRobinBalancer,
		"sticky":             kgo.StickyBalancer,
		"cooperative-sticky": kgo.CooperativeStickyBalancer,
	}
	made, known := balancers[strategy(asked, "franz-go")]
	if !known {
		return nil, BadDocument("no strategy " + asked.Strategy)
	}
	balancer := made()
	joined := make([]kmsg.JoinGroupResponseMember, len(asked.Members))
	for i, m := range asked.Members {
		joined[i] = kmsg.NewJoinGroupResponseMember()
		joined[i].MemberID, joined[i].InstanceID = m.ID, m.Instance
		joined[i].ProtocolMetadata = metadata(m, balancer.IsCooperative())
	}
	// The leader sorts the members before it asks the balancer.
	sort.SliceStable(joined, func(i, j int) bool { return less(joined[i], joined[j]) })
	members, _, err := balancer.MemberBalancer(joined)
	if err != nil {
		return nil, err
	}
	plan, err := members.(kgo.GroupMemberBalancerOrError).BalanceOrError(subscribed(asked))
	if err != nil {
		return nil, err
	}
	given := lists{}
	for _, part := range plan.IntoSyncAssignment() {
		if given[part.MemberID], err = balancer.ParseSyncAssignment(part.MemberAssignment); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// metadata is what a member sends; claims in the order of the document, not sorted as franz-go
// itself would send them, since other clients do not sort.
func metadata(m member, cooperative bool) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics, meta.Rack = 3, m.Topics, m.Rack
	meta.Generation = -1
	if m.SubGeneration != nil {
		meta.Generation = *m.SubGeneration
	}
	names, partitions := owned(m)
	data := kmsg.NewStickyMemberMetadata()
	data.Generation = -1
	if m.Generation != nil {
		data.Generation = *m.Generation
	}
	for _, topic := range names {
		if cooperative {
			held := kmsg.NewConsumerMemberMetadataOwnedPartition()
			held.Topic, held.Partitions = topic, partitions[topic]
			meta.OwnedPartitions = append(meta.OwnedPartitions, held)
		}
		current := kmsg.NewStickyMemberMetadataCurrentAssignment()
		current.Topic, current.Partitions = topic, partitions[topic]
		data.CurrentAssignment = append(data.CurrentAssignment, current)
	}
	if m.Owned != nil {
		meta.UserData = data.AppendTo(nil)
	}
	return meta.AppendTo(nil)
}

// less orders members as franz-go's leader does: static ones first, by instance, then by member id.
func less(l, r kmsg.JoinGroupResponseMember) bool {
	if (l.InstanceID == nil) != (r.InstanceID == nil) {
		return l.InstanceID != nil
	}
	if l.InstanceID != nil {
		return *l.InstanceID < *r.InstanceID
	}
	return l.MemberID < r.MemberID
}
