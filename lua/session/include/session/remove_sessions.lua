-- remove_sessions(user, hashes): delete sessions of a user, at most 1,000.
local function remove_sessions(user, hashes)
  if #hashes == 0 then return end
  local names = {}
  for i, hash in ipairs(hashes) do names[i] = sessions .. hash end
  redis.call('UNLINK', unpack(names))  -- at most 1,000: sessions of a user
  redis.call('ZREM', by_user .. user, unpack(hashes))
  redis.call('ZREM', all, unpack(hashes))
end
