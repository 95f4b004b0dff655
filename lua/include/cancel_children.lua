-- cancel_children(conf, id, last_id, last_score, stamp, limit, tally): cancel the children of a task that come after the
-- last one, at most limit, and note that theirs are to follow, once under a stamp: parents may form a cycle. A later cancel
-- has a higher stamp and does the work of earlier ones, or two of them would go round a cycle for ever. One that was removed, of
-- which a link is left (shorten_family), has children to be cancelled, too. How many, and the last of them with its score.
-- NEEDS task children rank_after cancel_one note_end
local function cancel_children(conf, id, last_id, last_score, stamp, limit, tally)
  local start = last_score == '0' and 0 or rank_after(children .. id, last_score, last_id)
  local page = redis.call('ZRANGE', children .. id, start, start + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    cancel_one(conf, page[i], tally)
    local row = redis.call('EXISTS', children .. page[i]) == 1 and redis.call('HMGET', task .. page[i], 'created_ms', 'pruned', 'gone')
    if row and (row[1] or row[3]) and tonumber(row[2] or 0) < tonumber(stamp) then
      redis.call('HSET', task .. page[i], 'pruned', stamp)
      note_end(conf, 't', page[i], nil, stamp)
    end
  end
  return #page / 2, #page > 0 and page[#page - 1] .. ' ' .. page[#page]
end
