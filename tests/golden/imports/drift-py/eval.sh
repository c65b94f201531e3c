#!/bin/bash
CONFIG=${1:-configs/eval/eval_llada_code.yaml}
accelerate launch \
  trainer/eval.py config=$CONFIG 2>&1 | tee log/eval.log
