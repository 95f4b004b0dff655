-- write_lease(ctx, token, score, lane, tied, limited, traced, runs, fence, worker): an entry of `running`, as
-- read_lease reads it; runs is '<attempt> <delivery> <crashes>', limited: the limit keys, or ''; traced: the trace of
-- the task's enqueue, or nil.
-- EARLY
local function write_lease(ctx, token, score, lane, tied, limited, traced, runs, fence, worker)
  if limited ~= '' then limited = ' limits=' .. limited end
  if traced then limited = limited .. ' trace=' .. traced end
  return token .. ' ' .. score .. ' ' .. lane .. (tied and ' ties' or '') .. limited .. '|' .. ctx.now_text .. ' ' .. runs .. ' '
    .. fence .. ' ' .. worker
end
