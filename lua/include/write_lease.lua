-- write_lease(conf, token, score, lane, tied, runs, fence, worker): an entry of `running`, as read_lease reads it;
-- runs is '<attempt> <delivery> <crashes>'.
local function write_lease(conf, token, score, lane, tied, runs, fence, worker)
  return token .. ' ' .. score .. ' ' .. lane .. (tied and ' ties|' or '|') .. conf.now_text .. ' ' .. runs .. ' '
    .. fence .. ' ' .. worker
end
