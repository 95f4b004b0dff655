-- forget_search(conf, rid): one that waited is not to be searched for any more. Where nobody waits there is nothing to
-- look at, the rest of a line neither.
local function forget_search(conf, rid)
  conf.waiting = conf.waiting - 1
  if conf.waiting == 0 then
    redis.call('UNLINK', unchecked)
  else
    redis.call('ZREM', unchecked, rid)
  end
end
