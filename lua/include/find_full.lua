-- find_full(conf, limited): the first of these limits that lets no task start now, and the score of its line until it does; nil if all let one.
local function find_full(conf, limited)
  local names, unread = {}, {}
  for _, limit in ipairs(limited) do
    if limit.interval_ms and not limit.next_ms then names[#names + 1], unread[#unread + 1] = limit.key, limit end
  end
  local due = names[2] and redis.call('ZMSCORE', rates, unpack(names)) or {}  -- at most 26: limits of a task
  for i, limit in ipairs(unread) do limit.rate_ms = due[i] or names[2] and 0 end
  for _, limit in ipairs(limited) do
    local room, look_ms = room_left(conf, limit)
    if room == 0 then return limit, look_ms end
  end
end
