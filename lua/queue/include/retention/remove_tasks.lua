-- remove_tasks(ctx, ids, since, why, most): delete tasks that are in no set any more, with their index entries. A call
-- about a task may be sent again for 60 s after the task's time in `since` (none: now). Until then a stub remembers its
-- rid and last settlement. The stub of a child that has children stays as long as they do, so that a cancelled tree
-- finds them. most: about how many commands it may send, at least 1, or nil. Returns how many tasks, and what is left
-- of `most`.
local function remove_tasks(ctx, ids, since, why, most)
  if #ids == 0 then return 0, most end
  local keys, by_index, stubs, families, touched, count, left = {}, {}, {}, {}, {}, 0, most or math.huge
  local function leave(index, id)
    local members = by_index[index]
    if not members then members, left = {}, left - 1 end
    if members[#members] ~= id then members[#members + 1] = id end  -- a tag may be given twice
    by_index[index] = members
  end
  for i, id in ipairs(ids) do families[i] = children .. id end
  local some_have = 0  -- children
  for first = 1, #families, 7000 do
    some_have = some_have + redis.call('EXISTS', unpack(families, first, math.min(first + 6999, #families)))
  end
  for i, id in ipairs(ids) do
    if left <= 0 then break end
    count, left = i, left - 1
    local own, at = redis.call('HMGET', task .. id, 'user', 'tags', 'parent', 'rid', 'settled', 'reply', 'earlier',
      'settled_earlier', 'pruned'), #keys
    local parent = own[3]
    local linked = some_have > 0 and parent and parent ~= id and redis.call('EXISTS', families[i]) == 1
    keys[at + 1], keys[at + 2], keys[at + 3], keys[at + 4] = task .. id, payload .. id, result .. id, log .. id
    keys[at + 5] = ended_runs .. id
    if not own[6] then keys[at + 6] = reply .. id end  -- that of an older task of this id
    if own[1] then leave(by_user .. own[1], id) end
    for tag in string.gmatch(own[2] or '', '[^,]+') do leave(by_tag .. tag, id) end
    if parent and not linked then leave(children .. parent, id) end
    if linked then touched[#touched + 1] = id end
    if parent and touched[#touched] ~= parent then touched[#touched + 1] = parent end
    local left_ms = math.min(60000, (since[i] or ctx.now) + 60000 - ctx.now)
    if (left_ms > 0 or linked) and own[4] then
      left = left - 2
      local stub = { task .. id, 'gone', why, 'rid', own[4] }
      if own[5] or own[8] then stub[6], stub[7] = 'settled', own[5] or own[8] end
      if own[7] then stub[#stub + 1], stub[#stub + 2] = 'earlier', own[7] end
      if linked then stub[#stub + 1], stub[#stub + 2] = 'link', parent end
      if linked and own[9] then stub[#stub + 1], stub[#stub + 2] = 'pruned', own[9] end
      stubs[#stubs + 1] = { not linked and string.format('%.0f', left_ms), stub }
    end
  end
  for first = 1, #keys, 7000 do redis.call('DEL', unpack(keys, first, math.min(first + 6999, #keys))) end
  for index, members in pairs(by_index) do
    for first = 1, #members, 7000 do redis.call('ZREM', index, unpack(members, first, math.min(first + 6999, #members))) end
  end
  for _, one in ipairs(stubs) do
    redis.call('HSET', unpack(one[2]))  -- at most 13: the fields above
    if one[1] then redis.call('PEXPIRE', one[2][1], one[1]) end
  end
  for _, id in ipairs(touched) do shorten_family(ctx, id) end
  return count, left
end
