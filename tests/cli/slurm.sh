#!/bin/sh
# A Slurm for the tests of `sinew farm`: sbatch, squeue, scancel, sacct or scontrol, by the name of
# the link that runs it. Elements of job arrays run while sbatch does, one after another, so that
# everything happens in the same order each time. In the folder $SLURM:
#
#   calls          a line per call: the name and the words
#   NAME.next      what the next calls of the program do instead: a line of shell per call.
#                  `usual` is what the program does otherwise
#   elements.next  what becomes of the next elements of job arrays, a line each: "run", or the state
#                  that squeue shows, "TIMEOUT|TimeLimit", for one that does not run
#   jobs/JOB_I     an element: its state and reason, the name of the job, its comment
#   words/JOB      what its elements run
#   accounting     if it exists, sacct answers
#   config         what scontrol answers
name=${0##*/}
echo "$name $*" >>"$SLURM/calls"

next() { # FILE: takes its first line
    line=
    [ -s "$1" ] || return 1
    line=$(head -n 1 "$1")
    sed -i 1d "$1"
}

put() { # JOB_I STATE|REASON
    echo "$2|$job_name|$comment" >"$SLURM/jobs/$1"
}

run() { # JOB INDEX
    job=$1 index=$2
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$SLURM/words/$job"
    if (cd / && SLURM_ARRAY_TASK_ID=$index exec sh "$@") >/dev/null 2>&1; then
        put "${job}_$index" "COMPLETED|None"
    else
        put "${job}_$index" "FAILED|NonZeroExitCode"
    fi
}

# What waits runs now: for a line of squeue.next.
release() {
    for file in $(grep -l "^PENDING|Held" "$SLURM"/jobs/*); do
        IFS='|' read -r state reason job_name comment <"$file"
        id=${file##*/}
        run "${id%_*}" "${id#*_}"
    done
}

element() { # JOB INDEX
    before=
    [ -z "$after" ] || before=$(cut -d'|' -f1 "$SLURM/jobs/${after}_$2")
    if [ -n "$after" ] && [ "$before" != COMPLETED ]; then
        next "$SLURM/orphans.next" || line="CANCELLED|DependencyNeverSatisfied"
        put "$1_$2" "$line"
    elif next "$SLURM/elements.next" && [ "$line" != run ]; then
        put "$1_$2" "$line"
    else
        run "$1" "$2"
    fi
}

usual_sbatch() {
    after=
    while [ "${1#-}" != "$1" ]; do
        case $1 in
        --job-name=*) job_name=${1#*=} ;;
        --comment=*) comment=${1#*=} ;;
        --array=*) list=${1#*=} ;;
        --dependency=aftercorr:*) after=${1#*:} ;;
        esac
        shift
    done
    number=$(($(cat "$SLURM/last" 2>/dev/null || echo 100) + 1))
    echo $number >"$SLURM/last"
    for word; do echo "$word"; done >"$SLURM/words/$number"
    for range in $(echo "$list" | tr , ' '); do
        for i in $(seq "${range%-*}" "${range#*-}"); do element $number "$i"; done
    done
    echo $number
}

usual_squeue() {
    format='' wanted=''
    for word; do
        case $word in
        --format=*) format=${word#*=} ;;
        --name=*) wanted=${word#*=} ;;
        esac
    done
    for file in "$SLURM"/jobs/*; do
        [ -f "$file" ] || continue
        IFS='|' read -r state reason job_name comment <"$file"
        [ "$job_name" = "$wanted" ] || continue
        id=${file##*/}
        case $format in
        '%i|%T|%r') echo "$id|$state|$reason" ;;
        *) case $state in PENDING | RUNNING) echo "${id%_*}|$comment" ;; esac ;;
        esac
    done
}

usual_scancel() {
    for word; do wanted=$word; done
    for file in "$SLURM"/jobs/*; do
        [ -f "$file" ] || continue
        IFS='|' read -r state reason job_name comment <"$file"
        [ "--name=$job_name" = "$wanted" ] || [ "${file##*/}" = "$wanted" ] || continue
        case $state in PENDING | RUNNING) put "${file##*/}" "CANCELLED|None" ;; esac
    done
}

usual_sacct() {
    if [ ! -e "$SLURM/accounting" ]; then
        echo "Slurm accounting storage is disabled" >&2
        exit 1
    fi
    for word; do case $word in --jobs=*) id=${word#*=} ;; esac; done
    echo "$(cut -d'|' -f1 "$SLURM/jobs/$id")|0:9|node7"
}

usual_scontrol() {
    cat "$SLURM/config"
}

usual() { "usual_$name" "$@"; }

if next "$SLURM/$name.next"; then eval "$line"; else usual "$@"; fi
