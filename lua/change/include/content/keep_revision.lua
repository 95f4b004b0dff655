-- keep_revision(own, content): keep the content of the revision that this call replaces, for reviewers who have seen it. Of a change, those of
-- the last 10 are kept.
local function keep_revision(own, content)
  redis.call('HSET', revisions .. own.id, own.rev, netstrings(content))
  if own.rev > 10 then redis.call('HDEL', revisions .. own.id, own.rev - 10) end
  redis.call('PEXPIRE', revisions .. own.id, WAIT_revision_ms)
end
