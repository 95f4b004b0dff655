-- find_full(conf, limited, id, score): the first of these limits that does not let this task start now, and the score of its line until it
-- does; nil if all do. A turn that is kept for another task is free to those that come before that task.
-- NEEDS rates room_left kept_for
local function find_full(conf, limited, id, score)
  local names, unread = {}, {}
  for _, limit in ipairs(limited) do
    if limit.interval_ms and not limit.next_ms then names[#names + 1], unread[#unread + 1] = limit.key, limit end
  end
  local due = names[2] and redis.call('ZMSCORE', rates, unpack(names)) or {}  -- at most 26: limits of a task
  for i, limit in ipairs(unread) do limit.rate_ms = due[i] or names[2] and 0 end
  for _, limit in ipairs(limited) do
    local room, look_ms = room_left(conf, limit)
    local first = room == 1 and kept_for(conf, limit)
    if first and first.id ~= id and first.score < tonumber(score) then room, look_ms = 0, conf.now + 5000 end
    if room == 0 then return limit, look_ms end
  end
end
