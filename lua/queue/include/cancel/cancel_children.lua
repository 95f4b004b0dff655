-- cancel_children(ctx, id, last_id, last_score, stamp, limit): cancel the children of a task behind the last one, at
-- most limit, and note that their own children follow. The stamp ends cycles of parents: each task is cancelled once
-- for a stamp. A later cancel has a higher stamp and does the work of earlier ones. A link (shorten_family) of a
-- removed child counts as a child. Returns how many, and the last of them with its score.
local function cancel_children(ctx, id, last_id, last_score, stamp, limit)
  local start = last_score == '0' and 0 or rank_after(children .. id, last_score, last_id)
  local page = redis.call('ZRANGE', children .. id, start, start + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    local child = page[i]
    local row = redis.call('HMGET', task .. child, 'created_ms', 'parent', 'link', 'pruned')
    local parent = row[3]
    if row[1] then parent = row[2] end
    if parent ~= id then
      redis.call('ZREM', children .. id, child)  -- an older version enqueued a new task with the id of a link
    else
      if row[1] then cancel_one(ctx, child) end
      local has_own = redis.call('EXISTS', children .. child) == 1
      if has_own and tonumber(row[4] or 0) < tonumber(stamp) then
        redis.call('HSET', task .. child, 'pruned', stamp)
        note_end(ctx, 't', child, nil, stamp)
      elseif not has_own and not row[1] then  -- an older build removed the last child of a link
        redis.call('ZREM', children .. id, child)
        redis.call('PEXPIRE', task .. child, 60000)
      end
    end
  end
  return #page / 2, #page > 0 and page[#page - 1] .. ' ' .. page[#page]
end
