-- index_reviewers(own): list the change with each of its reviewers: a group may have had several requests, of which one is gone.
local function index_reviewers(own)
  for _, one in ipairs(slots_of(own)) do redis.call('ZADD', by_reviewer .. one.reviewer, own.created_ms, own.id) end  -- at most 32: slots
end
