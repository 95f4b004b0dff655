-- set_delegation(ctx, key, name, given, person): store or remove a delegation. person: who answers for the actor. Returns its answer.
local function set_delegation(ctx, key, name, given, person)
  local stored = redis.call('HGET', key, name)
  local behind = kind == 'agent' and (actor == user or actor == '') and person or nil
  if given.remove then
    if not stored then return { 'unknown' } end
    redis.call('HDEL', key, name)
    emit(ctx, 'delegation.removed', name, 'user=' .. user .. acted_by())
  else
    if stored == delegation_text(given, behind) then return { 'same' } end
    if leads_back(ctx, user, given.to) then return { 'cycle' } end
    local known = redis.call('HLEN', key)  -- with `#at`, if there is one
    if not stored and (known > 16 or known == 16 and redis.call('HEXISTS', key, '#at') == 0) then return { 'full' } end
    redis.call('HSET', key, name, delegation_text(given, behind))
    redis.call('HSET', config, 'delegations', '1')
    ctx.delegates = true
    emit(ctx, 'delegation.put', name, 'user=' .. user .. ' to=' .. given.to .. (behind and ' for=' .. behind or '') .. acted_by())
  end
  local before = stored and delegation_fields(stored).to
  if before and before ~= given.to then list_giver(user, before) end
  if given.to then list_giver(user, given.to) end
  redis.call('HDEL', key, '#at')
  redis.call('ZADD', delegating, ctx.now_text, user)
  return { given.remove and 'removed' or 'stored' }
end
