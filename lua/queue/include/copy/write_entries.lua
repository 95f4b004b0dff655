-- write_entries(key, kind, first, last): add these entries of the call to a key that is no stream.
local function write_entries(key, kind, first, last)
  local words = {}
  for j = first, last do
    if kind == 'hash' then
      words[#words + 1], words[#words + 2] = entry_name[j], entry_value[j]
    elseif kind == 'zset' then
      words[#words + 1], words[#words + 2] = entry_value[j], entry_name[j]
    else
      words[#words + 1] = entry_name[j]
    end
  end
  if kind == 'hash' then
    redis.call('HSET', key, unpack(words))  -- at most 2,000: two for each item of a call
  elseif kind == 'zset' then
    redis.call('ZADD', key, unpack(words))  -- at most 2,000: two for each item of a call
  elseif kind == 'set' then
    redis.call('SADD', key, unpack(words))  -- at most 2,000: two for each item of a call
  elseif kind == 'list' then
    redis.call('RPUSH', key, unpack(words))  -- at most 2,000: two for each item of a call
  else
    redis.call('SET', key, words[1])
  end
end
