-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id)
  local link = redis.call('HMGET', task .. id, 'gone', 'link', 'pruned')
  -- at most 1,100: each round takes out a link, and there is one for each task of the call, and two more
  while link[1] and link[2] do
    local parent, kids = link[2], redis.call('ZRANGE', children .. id, 0, 1, 'WITHSCORES')
    local only = #kids == 2 and redis.call('HMGET', task .. kids[1], 'gone', 'pruned')
    if #kids == 4 or (only and not only[1]) then return end
    redis.call('HDEL', task .. id, 'link', 'pruned')
    redis.call('PEXPIRE', task .. id, 60000)
    local score = redis.call('ZSCORE', children .. parent, id)
    redis.call('ZREM', children .. parent, id)
    if only then
      redis.call('DEL', children .. id)
      if parent == kids[1] then  -- parent and child are each other's parent
        redis.call('HDEL', task .. parent, 'link', 'pruned')
        redis.call('PEXPIRE', task .. parent, 60000)
        return
      end
      redis.call('HSET', task .. kids[1], 'link', parent)
      redis.call('ZADD', children .. parent, string.format('%.0f', math.max(score or kids[2], kids[2]) + 1), kids[1])
      if tonumber(link[3] or 0) > tonumber(only[2] or 0) then
        redis.call('HSET', task .. kids[1], 'pruned', link[3])
        redis.call('ZADD', ends, ctx.now_text, 't ' .. kids[1] .. ' - 0 ' .. link[3])
      end
      return
    end
    id, link = parent, redis.call('HMGET', task .. parent, 'gone', 'link', 'pruned')
  end
end
