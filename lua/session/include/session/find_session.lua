-- find_session(ctx, hash): a valid session: its fields by name, with its own hash as `hash`; its record as it is stored; `authz_ver` of its
-- user; and whether the id is an older one in its grace. Nil if there is no such session.
-- EARLY
local function find_session(ctx, hash)
  local record, own, rotated
  for _ = 1, 6 do
    record = redis.call('HGETALL', sessions .. hash)  -- at most 40: names and values of a session
    own = { hash = hash }
    for i = 1, #record, 2 do own[record[i]] = record[i + 1] end
    if not own.alias then break end
    if tonumber(own.until_ms) <= ctx.now then return nil end
    hash, rotated = own.alias, true
  end
  if not own.user or ctx.now >= tonumber(own.ends_ms) or ctx.now >= own.active_ms + own.idle_ms then return nil end
  local known = redis.call('HMGET', users .. own.user, 'not_before_us', 'authz_ver')
  if not known[1] or tonumber(own.born_us) <= tonumber(known[1]) then return nil end
  return own, record, tonumber(known[2]), rotated
end
