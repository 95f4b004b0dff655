-- read_rates(limited): read the rates of these limits in one command. room_left would read one at a time.
local function read_rates(limited)
  local names, unread = {}, {}
  for _, limit in ipairs(limited) do
    if limit.interval_ms and not limit.next_ms and not limit.rate_ms then names[#names + 1], unread[#unread + 1] = limit.key, limit end
  end
  local due = names[2] and redis.call('ZMSCORE', rates, unpack(names)) or {}  -- at most 100: limits of a task, or of a page of lines
  for i, limit in ipairs(unread) do limit.rate_ms = due[i] or names[2] and 0 end
end
