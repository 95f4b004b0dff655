-- fire_once(ctx, id, at_text, data, envelope, stamp): enqueue a schedule's task for a time. If earlier tasks of the
-- schedule have not ended, its overlap policy decides: the new one is skipped, or waits for them, or they are cancelled
-- first. fired, exists (this time has fired before) or skipped. A task that this call made before is `fired` again.
-- LATE
local function fire_once(ctx, id, at_text, data, envelope, stamp)
  local key = schedule .. name
  local known = known_as(id, stamp)
  if known then return known == 'created' and 'fired' or 'exists' end
  local row = redis.call('HMGET', key, 'overlap', 'open')
  local overlap, open = row[1] or 'skip', read_open(row[2] or '')
  if overlap == 'cancel_other' then
    local going = {}
    for _, other in ipairs(open) do
      if cancel_one(ctx, other) == 'cancelling' then going[#going + 1] = other end
    end
    open = going
  end
  local most = ({ allow = MAX_SAFE, skip = 0, buffer_one = 1 })[overlap] or 63
  local status = 'skipped'
  if #open <= most then
    local own = { 'schedule', name, 'nominal_ms', at_text }
    for field, value in pairs(envelope) do own[type(field) == 'number' and field + 4 or field] = value end
    if #open > 0 and overlap ~= 'allow' then
      for i, word in ipairs({ 'after', table.concat(open, ','), 'after_when', 'ended' }) do own[#envelope + 4 + i] = word end
      own.after, own.after_when = open, 'ended'
    end
    ctx.some_known = redis.call('EXISTS', task .. id) == 1
    status = add_tasks(ctx, { id }, { data }, { own }, { stamp })[1][1] == 'created' and 'fired' or 'skipped'
  end
  if status == 'fired' then
    if #open > 63 then table.remove(open, 1) end  -- only possible with `allow`: forget the oldest
    open[#open + 1] = id
    redis.call('HSET', key, 'last_id', id, 'last_ms', at_text)
    emit(ctx, 'schedule.fired', name, 'at_ms=' .. at_text .. ' task=' .. id)
  else
    emit(ctx, 'schedule.skipped', name, 'at_ms=' .. at_text)
  end
  redis.call('HSET', key, 'open', table.concat(open, ' '))
  redis.call('HINCRBY', key, status, 1)
  return status
end
