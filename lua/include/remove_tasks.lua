-- remove_tasks(conf, ids, since, why): delete tasks that are in no set any more, with their index entries. What was done to one
-- since its time (none: now), up to 60 s ago, may still be sent again: for that long a stub remembers its rid and last settlement.
-- NEEDS task payload result log reply by_user by_tag children
local function remove_tasks(conf, ids, since, why)
  if #ids == 0 then return end
  local keys, by_index, stubs = {}, {}, {}
  local function leave(index, id)
    local members = by_index[index] or {}
    if members[#members] ~= id then members[#members + 1] = id end  -- a tag may be given twice
    by_index[index] = members
  end
  for i, id in ipairs(ids) do
    local own, at = redis.call('HMGET', task .. id, 'user', 'tags', 'parent', 'rid', 'settled', 'reply', 'earlier',
      'settled_earlier'), #keys
    keys[at + 1], keys[at + 2], keys[at + 3], keys[at + 4] = task .. id, payload .. id, result .. id, log .. id
    if not own[6] then keys[at + 5] = reply .. id end  -- that of an older task of this id
    if own[1] then leave(by_user .. own[1], id) end
    for tag in string.gmatch(own[2] or '', '[^,]+') do leave(by_tag .. tag, id) end
    if own[3] then leave(children .. own[3], id) end
    local left_ms = math.min(60000, (since[i] or conf.now) + 60000 - conf.now)
    if left_ms > 0 and own[4] then
      local stub = { task .. id, 'gone', why, 'rid', own[4] }
      if own[5] or own[8] then stub[6], stub[7] = 'settled', own[5] or own[8] end
      if own[7] then stub[#stub + 1], stub[#stub + 2] = 'earlier', own[7] end
      stubs[#stubs + 1] = { string.format('%.0f', left_ms), stub }
    end
  end
  for first = 1, #keys, 7000 do redis.call('DEL', unpack(keys, first, math.min(first + 6999, #keys))) end
  for index, members in pairs(by_index) do
    for first = 1, #members, 7000 do redis.call('ZREM', index, unpack(members, first, math.min(first + 6999, #members))) end
  end
  for _, one in ipairs(stubs) do
    redis.call('HSET', unpack(one[2]))  -- at most 7: the fields above
    redis.call('PEXPIRE', one[2][1], one[1])
  end
end
