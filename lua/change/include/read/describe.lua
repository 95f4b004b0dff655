-- describe(ctx, own): a change as `get` answers it.
local function describe(ctx, own)
  local counts = count_slots(own)
  return { 'found', redis.call('HGETALL', change .. own.id),  -- at most 100: fields of a change
    is_overdue(ctx, own) and 1 or 0, counts.approved, counts.rejected, counts.pending + counts.changes_requested,
    redis.call('GET', params .. own.id) or '', with_texts and redis.call('GET', previews .. own.id) or '',
    with_texts and redis.call('GET', outputs .. own.id) or '', with_requests and requests_of(own) or {},
    with_log > 0 and log_of(own, with_log) or {} }
end
