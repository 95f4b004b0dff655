-- remove_tasks(ctx, ids, since, why, most): delete tasks that are in no set any more, with their index entries. A call
-- about a task may be sent again for 60 s after the task's time in `since` (none: now). Until then a stub remembers its
-- rid and last settlement. The stub of a child that has children stays as long as they do, so that a cancelled tree
-- finds them. most: about how many commands it may send, at least 1, or nil. Returns how many tasks, and what is left
-- of `most`. To delete a key costs up to three searches outside the CPU caches, even if there is no such key. So it deletes
-- only keys that may exist: without `progress_ms` there is no log, without `deliveries` there are no ended runs,
-- and without `durable` there are no steps.
local function remove_tasks(ctx, ids, since, why, most)
  if #ids == 0 then return 0, most end
  local keys, others, by_index, stubs, expiries, texts, touched, count, left = {}, {}, {}, {}, {}, {}, {}, 0, most or math.huge
  local function leave(index, id)
    local members = by_index[index]
    if not members then members, left = {}, left - 1 end
    if members[#members] ~= id then members[#members + 1] = id end  -- a tag may be given twice
    by_index[index] = members
  end
  local some_have  -- children; known once a task has a parent
  for i, id in ipairs(ids) do
    if left <= 0 then break end
    count, left = i, left - 1
    local key = task .. id
    local own = redis.call('HMGET', key, 'rid', 'settled', 'user', 'tags', 'parent', 'reply', 'progress_ms',
      'deliveries', 'earlier', 'settled_earlier', 'pruned', 'durable')
    local parent, at = own[5], #keys
    if parent and some_have == nil then some_have = have_children(ids) end
    local linked = parent and some_have and parent ~= id and redis.call('EXISTS', children .. id) == 1
    keys[at + 1], keys[at + 2], others[#others + 1] = key, payload .. id, result .. id
    if not own[6] then others[#others + 1] = reply .. id end  -- that of an older task of this id
    if own[7] or not own[1] then keys[#keys + 1] = log .. id end  -- without a rid, the record is lost
    if own[8] or not own[1] then keys[#keys + 1] = ended_runs .. id end
    if own[12] or not own[1] then keys[#keys + 1] = steps .. id end
    if own[3] then leave(by_user .. own[3], id) end
    for tag in string.gmatch(own[4] or '', '[^,]+') do leave(by_tag .. tag, id) end
    if parent and not linked then leave(children .. parent, id) end
    if linked then touched[#touched + 1] = id end
    if parent and touched[#touched] ~= parent then touched[#touched + 1] = parent end
    local left_ms = math.min(60000, (since[i] or ctx.now) + 60000 - ctx.now)
    if (left_ms > 0 or linked) and own[1] then
      left = left - 2
      stubs[#stubs + 1] = stub_of(key, own, why, linked)
      if not linked then
        texts[left_ms] = texts[left_ms] or string.format('%.0f', left_ms)  -- a conversion costs as much as a command
        expiries[#stubs] = texts[left_ms]
      end
    end
  end
  if count_existing(others) > 0 then
    for _, key in ipairs(others) do keys[#keys + 1] = key end
  end
  for first = 1, #keys, 7000 do redis.call('DEL', unpack(keys, first, math.min(first + 6999, #keys))) end
  for index, members in pairs(by_index) do
    for first = 1, #members, 7000 do redis.call('ZREM', index, unpack(members, first, math.min(first + 6999, #members))) end
  end
  for at, stub in ipairs(stubs) do
    redis.call('HSET', unpack(stub))  -- at most 13: the fields above
    if expiries[at] then redis.call('PEXPIRE', stub[1], expiries[at]) end
  end
  for _, id in ipairs(touched) do shorten_family(ctx, id) end
  return count, left
end
