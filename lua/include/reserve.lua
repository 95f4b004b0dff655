-- reserve(conf, id, score, limited, passed): a claim has put a task into the line of a limit, for the n-th time (passed). If that is 8 times, because one of its
-- limits was full whenever another had room, its limits keep a turn for it (kept_for). Only one task of a queue has this at a time, so
-- that no two wait for what is kept for the other: the first by priority and place. The narrowest limit comes first, rates last.
-- NEEDS config task kept_for
local function reserve(conf, id, score, limited, passed)
  redis.call('HSET', task .. id, 'passed', passed)
  if passed < 8 then return end
  kept_for(conf, limited[1])
  local first, lines, keys = conf.reserved, {}, {}
  if first and first.id ~= id and first.score <= tonumber(score) then return end
  for _, limit in ipairs(limited) do
    if limit.policy == 'queue' then lines[#lines + 1] = limit end
  end
  if not lines[1] then return end
  table.sort(lines, function(a, b)
    local most, other = a.most or MAX_SAFE, b.most or MAX_SAFE
    if most == other then return a.key < b.key end
    return most < other
  end)
  for i, limit in ipairs(lines) do keys[i] = limit.key end
  redis.call('HSET', config, 'reserved', '0 ' .. score .. ' ' .. id .. ' ' .. conf.lane .. ' ' .. table.concat(keys, ','))
  conf.reserved = nil
end
