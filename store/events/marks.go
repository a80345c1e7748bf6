package events

// marksSQL finds the numbers of the latest visible events of each kind and subject. It steps from one mark to the
// next in the index, so that its cost depends on the number of marks, not of events. The latest three observations
// in free text count. Marks are stored for few audiences: every agent, the viewer's group, the viewer.
const marksSQL = `
	WITH RECURSIVE latest AS (
		(SELECT a.audience, m.mark, m.sensitivity, m.seq
		FROM unnest(@marked::text[]) a(audience)
			CROSS JOIN LATERAL (
				SELECT mark, sensitivity, seq
				FROM event_marks
				WHERE tenant = @tenant AND stream = @stream AND audience = a.audience COLLATE "C" AND mark <> 'visit'
				ORDER BY mark, sensitivity, seq DESC
				LIMIT 1) m)
		UNION ALL
		(SELECT l.audience, m.mark, m.sensitivity, m.seq
		FROM latest l
			CROSS JOIN LATERAL (
				SELECT mark, sensitivity, seq
				FROM event_marks
				WHERE tenant = @tenant AND stream = @stream AND audience = l.audience COLLATE "C"
					AND (mark, sensitivity) > (l.mark, l.sensitivity) AND mark <> 'visit'
				ORDER BY mark, sensitivity, seq DESC
				LIMIT 1) m)
	)
	SELECT DISTINCT n.seq
	FROM latest l
		CROSS JOIN LATERAL (
			SELECT seq
			FROM event_marks
			WHERE tenant = @tenant AND stream = @stream AND audience = l.audience COLLATE "C" AND mark = l.mark
				AND sensitivity = l.sensitivity AND seq <= @head
			ORDER BY seq DESC
			LIMIT CASE WHEN l.mark = 'note' THEN 3 ELSE 1 END) n
	WHERE l.sensitivity = ANY(@sensitivities)`

const bySeqSQL = `
	SELECT ` + columns + `
	FROM events e
	WHERE e.tenant = @tenant AND e.stream = @stream AND e.seq = ANY(@seqs)`

// visitsSQL reads the latest user inputs before a number.
const visitsSQL = `
	SELECT ` + columns + `
	FROM (
		SELECT DISTINCT n.seq
		FROM unnest(@marked::text[]) a(audience)
			CROSS JOIN unnest(@sensitivities::text[]) s(sensitivity)
			CROSS JOIN LATERAL (
				SELECT seq
				FROM event_marks
				WHERE tenant = @tenant AND stream = @stream AND audience = a.audience COLLATE "C" AND mark = 'visit'
					AND sensitivity = s.sensitivity COLLATE "C" AND seq < @before
				ORDER BY seq DESC
				LIMIT @limit) n
		ORDER BY n.seq DESC
		LIMIT @limit) v
		CROSS JOIN LATERAL (
			SELECT *
			FROM events
			WHERE tenant = @tenant AND stream = @stream AND seq = v.seq
			OFFSET 0) e
	ORDER BY e.seq DESC`
