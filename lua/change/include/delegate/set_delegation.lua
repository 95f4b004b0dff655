-- set_delegation(ctx, key, name, own): store or remove a delegation. Returns its answer.
local function set_delegation(ctx, key, name, own)
  local stored = redis.call('HGET', key, name)
  if own.remove then
    if not stored then return { 'unknown' } end
    redis.call('HDEL', key, name)
    emit(ctx, 'delegation.removed', name, 'user=' .. user .. (actor ~= '' and ' by=' .. actor or ''))
  else
    if stored == delegation_text(own) then return { 'same' } end
    if leads_back(user, own.to) then return { 'cycle' } end
    if not stored and redis.call('HLEN', key) >= 16 then return { 'full' } end
    redis.call('HSET', key, name, delegation_text(own))
    redis.call('HSET', config, 'delegations', '1')
    emit(ctx, 'delegation.put', name, 'user=' .. user .. ' to=' .. own.to .. (actor ~= '' and ' by=' .. actor or ''))
  end
  redis.call('HDEL', key, '#at')
  redis.call('ZADD', delegating, ctx.now_text, user)
  return { own.remove and 'removed' or 'stored' }
end
