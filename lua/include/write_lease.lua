-- write_lease(conf, token, score, lane, tied, limited, runs, fence, worker): an entry of `running`, as read_lease reads it;
-- runs is '<attempt> <delivery> <crashes>', limited '' or the keys of the limits that it holds.
local function write_lease(conf, token, score, lane, tied, limited, runs, fence, worker)
  if limited ~= '' then limited = ' limits=' .. limited end
  return token .. ' ' .. score .. ' ' .. lane .. (tied and ' ties' or '') .. limited .. '|' .. conf.now_text .. ' ' .. runs .. ' '
    .. fence .. ' ' .. worker
end
