-- ended_as(ctx, id, state, record): the answer of `outcome` for a task that has ended or is unknown: from its reply, or
-- else from its record.
local function ended_as(ctx, id, state, record)
  local left = (record.reply or not state) and redis.call('GET', reply .. id)
  local until_ms, how, value = string.match(left or '', '^(%d+) (.-)\n(.*)$')
  if how and tonumber(until_ms) > ctx.now then
    local status, reason = string.match(how, '^(%S*) ?(.*)$')
    if status == 'completed' then return { 'completed', value } end
    if status == 'dead' then return { 'dead', reason, value } end
    return status == 'removed' and { 'removed' } or status == 'cancelled' and { 'cancelled' } or { 'result_dropped' }
  end
  if not state then return { 'not_found' } end
  if state == 'dead' then return { 'dead', record.reason or 'error', record.error or '' } end
  if state == 'cancelled' then return { 'cancelled' } end
  if string.find(record.settled or '', ' result_dropped', 1, true) then return { 'result_dropped' } end
  local shown = tonumber(record.result_until_ms or MAX_SAFE) > ctx.now
  return { 'completed', shown and redis.call('GET', result .. id) or '' }
end
