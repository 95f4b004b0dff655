-- add_tasks(ctx, ids, data, envelopes, stamps): add the tasks that are new. envelopes: their pairs; stamps:
-- `<rid>/<index>`. Returns one answer for each task.
-- EARLY
local function add_tasks(ctx, ids, data, envelopes, stamps)
  local last = redis.call('HINCRBY', config, 'place', #ids)
  local place = last - #ids
  ctx.there, ctx.gathers, ctx.lined, ctx.aside, ctx.last_place = {}, {}, {}, {}, string.format('%.0f', last)
  local new, answers, created, seen, payloads, by_lane, by_index = { 'created' }, {}, {}, {}, {}, {}, {}
  for i, id in ipairs(ids) do
    local own, known, twin, by, later, later_twin = envelopes[i], nil, nil, nil, false, false
    local keyed = own.idempotency_key or own.unique or own.scope
    if ctx.some_known then known, later = known_as(id, stamps[i]) end
    known = known or (seen[id] and 'exists')
    if keyed and known ~= 'created' then twin, by, later_twin = find_duplicate(ctx, own, stamps[i]) end
    -- What a later item of this call made was not there when the call came before: then this one was refused, and is again.
    local may_be_refused = by ~= 'rid' and (not known or later) and (not twin or later_twin)
    local obstacle = may_be_refused and (own.after or own.needs_parent) and find_obstacle(ctx, own, stamps[i])
    if may_be_refused and ctx.moved and not is_here(own) then
      answers[i] = { 'moved' }
    elseif obstacle then
      answers[i] = { 'unknown', obstacle }
    elseif twin and (by == 'rid' or not known) then
      answers[i] = { 'deduplicated', twin }
      merge_task(ctx, twin, later_twin and 'key' or by, stamps[i], own, data[i])  -- the payload of the later item is newer
    elseif known then
      answers[i], seen[id] = { known }, true
    else
      answers[i], seen[id], ctx.there[id], created[#created + 1] = new, true, 'new', id
      if own.scope then
        redis.call('SET', payload .. id, data[i])  -- because a later item of the same scope may replace the payload
      else
        payloads[#payloads + 1] = payload .. id
        payloads[#payloads + 1] = data[i]
      end
      if own.ordering_key then join_order(id, own, place + i) end
      if own.parent and (ctx.settings.chains or ctx.has_chains) then join_gathering(ctx, own, own.parent) end
      if own.after or own.gather or own.behind then join_chains(ctx, id, own, place + i, by_index) end
      write_record(id, stamps[i], ctx, own, #data[i])
      if keyed then hold_keys(ctx, id, own, false) end
      index_task(ctx, by_index, id, own)
      place_task(ctx, id, own, place + i, by_lane)
    end
  end
  if ctx.held then sweep_once(ctx, 10 + 2 * ctx.held) end
  if #created == 0 then return answers end
  -- at most 2,000: two for each item
  if #payloads > 0 then redis.call('MSET', unpack(payloads)) end
  for index, members in pairs(by_index) do redis.call('ZADD', index, unpack(members)) end
  make_ready(ctx, by_lane)
  for lane in pairs(ctx.aside) do
    if redis.call('EXISTS', ready .. lane) == 0 then redis.call('EXPIRE', shares .. lane, 2592000) end
  end
  emit(ctx, 'task.enqueued', table.concat(created, ' '), '')
  if #ctx.lined > 0 then write_joins(ctx) end
  if #ctx.lined > 0 then emit(ctx, 'task.limited', table.concat(ctx.lined, ' '), '') end
  ctx.counts.enqueued = #created
  return answers
end
